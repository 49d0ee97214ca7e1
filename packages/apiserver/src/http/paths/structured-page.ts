// StructuredPage: a page on which the server describes itself, as text for people or as an object of config.k8s.io for
// programs. statusz.ts and flagz.ts make them, path-router.ts serves them. Source: apiserver
// pkg/server/{statusz,flagz}.
import { stringifyJson } from '@kapstan/api';
import { notAcceptable } from '@kapstan/api/errors';
import { encodeValue, jsonFormat, type WireFormat, yamlFormat } from '../../codec/wire-format.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type MediaType, parseAccept } from '../exchange/media-type.ts';
import { isPrettyRequest, negotiatePlainOutput } from '../exchange/negotiation.ts';
import { outputRequestOf, wireStatus } from '../exchange/status-response.ts';

export interface StructuredPage {
  /** Name of the page, "statusz": its path, its resource in metrics, and its kind in lower case. */
  readonly name: string;
  /** "Statusz". */
  readonly kind: string;
  /** Returns the text for people. */
  text(): string;
  /** Returns the members that follow the metadata of the object. */
  members(): object;
}

/** Name of this server in its pages. */
const componentName = 'apiserver';

const group = 'config.k8s.io';
/** The served versions, and whether a client is warned. */
const versions: ReadonlyMap<string, { readonly isDeprecated: boolean }> = new Map([
  ['v1alpha1', { isDeprecated: true }],
  ['v1beta1', { isDeprecated: false }],
]);

/** The delimiter changes, so that nobody parses the text. */
const delimiters = [':', ': ', '=', ' '] as const;

export function randomDelimiter(random: () => number): string {
  return delimiters[Math.floor(random() * delimiters.length)] ?? ':';
}

/** Returns the first lines of the text. */
export function textHead(name: string): string {
  const warning =
    'This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
  return `\n${componentName} ${name}\nWarning: ${warning}\n`;
}

interface Form {
  readonly format: WireFormat;
  readonly version: string;
  readonly isPretty: boolean;
}

/** Serves the page for every method. Answers 406 when Accept allows none of its forms. */
export function serveStructuredPage(exchange: Exchange, page: StructuredPage): void {
  exchange.reportedResource = { group: '', version: '', resource: page.name, subresource: '' };
  const form = negotiate(exchange, page);
  if (form === undefined) return refuse(exchange);
  if (form === 'text') {
    exchange.setHeader('Content-Type', 'text/plain; charset=utf-8');
    return exchange.send(200, Buffer.from(page.text()));
  }
  const { format, version, isPretty } = form;
  exchange.reportedResource = { group, version, resource: page.name, subresource: '' };
  if (versions.get(version)?.isDeprecated === true) {
    const text = `This version of the ${page.name} endpoint is deprecated. Please use a newer version.`;
    exchange.setHeader('Warning', `299 - ${stringifyJson(text)}`);
  }
  exchange.setHeader('Content-Type', `${format.mediaType};g=${group};v=${version};as=${page.kind}`);
  const head = { kind: page.kind, apiVersion: `${group}/${version}`, metadata: { name: componentName } };
  const value = { ...head, ...page.members() };
  exchange.audit?.respond(value);
  exchange.send(200, encodeValue(format, value, { isPretty }));
}

function negotiate(exchange: Exchange, page: StructuredPage): Form | 'text' | undefined {
  const accept = exchange.header('accept')?.trim() ?? '';
  if (accept === '') return 'text';
  for (const media of parseAccept(accept).media) {
    if (hasRefusedParameter(media)) continue;
    const isConverted = ['as', 'g', 'v'].some((name) => media.parameters.has(name));
    const format =
      isConverted && isOf(page, media)
        ? [jsonFormat, yamlFormat].find((one) => matches(media, one.mediaType))
        : undefined;
    if (format !== undefined) {
      const isPretty = media.parameters.get('pretty') === '1' || isPrettyRequest(outputRequestOf(exchange));
      return { format, version: media.parameters.get('v') ?? '', isPretty };
    }
    if (!isConverted && matches(media, 'text/plain')) return 'text';
  }
  return undefined;
}

/** The page cannot be watched, and has no other version of the server's group. */
function hasRefusedParameter({ parameters }: MediaType): boolean {
  return parameters.has('stream') || parameters.has('sv');
}

function isOf({ kind }: StructuredPage, { parameters }: MediaType): boolean {
  return parameters.get('as') === kind && parameters.get('g') === group && versions.has(parameters.get('v') ?? '');
}

function matches({ type, subtype }: MediaType, mediaType: string): boolean {
  const [wantedType, wantedSubtype] = mediaType.split('/');
  if (type === '*') return subtype === '*';
  return type === wantedType && (subtype === '*' || subtype === wantedSubtype);
}

/** The refusal has no protobuf form here. */
function refuse(exchange: Exchange): void {
  const { status } = notAcceptable(
    'only the following media types are accepted: application/json, application/yaml, text/plain',
  );
  const request = outputRequestOf(exchange);
  const isYaml = negotiatePlainOutput(request)?.format.name === 'yaml';
  const format = isYaml ? yamlFormat : jsonFormat;
  const value = wireStatus(status);
  exchange.audit?.respond(value);
  exchange.setHeader('Content-Type', format.mediaType);
  exchange.send(status.code, encodeValue(format, value, { isPretty: isPrettyRequest(request) }));
}

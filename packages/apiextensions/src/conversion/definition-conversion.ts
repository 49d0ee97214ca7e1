// Converts objects of one definition with the program's function for it, or with its webhook. Results are checked, and
// pruned by the schema of their version. Implements the port ObjectConversion of apiserver. Source:
// apiextensions-apiserver conversion NewConverter and schemaCoercingConverter.

import { type Clock, type DeepReadonly, StatusError, type UnstructuredObject } from '@kapstan/api';
import { parseApiVersion, type SlicedWork, TurnSlice } from '@kapstan/api/internal';
import type { WebhookPool } from '@kapstan/apiserver';
import {
  type ConversionContext,
  type ObjectConversion,
  pruneInSlices,
  type SchemaNode,
} from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { runInTurns } from '@kapstan/storage';
import type { ConversionFunctions } from './conversion-functions.ts';
import type { ConversionMetrics } from './conversion-metrics.ts';
import { acceptConverted, ConvertedFault } from './converted-object.ts';
import { ConversionFailure, type Converter, formatGroupVersionKind } from './converter.ts';
import { FunctionConverter } from './function-converter.ts';
import { WebhookConverter } from './webhook-converter.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Original = DeepReadonly<UnstructuredObject>;

/** Parts of the server that conversions need. */
export interface ConversionPorts {
  readonly webhooks: WebhookPool;
  /** Functions by name of the definition. A function replaces the conversion in the definition. */
  readonly functions: ConversionFunctions;
  readonly metrics: ConversionMetrics;
  readonly clock: Clock;
  readonly newUid: () => string;
}

/** Returns undefined when versions differ only in apiVersion. */
export function converterOf({ metadata, spec }: Definition, ports: ConversionPorts): Converter | undefined {
  const name = metadata?.name ?? '';
  const convert = ports.functions.get(name);
  if (convert !== undefined) return new FunctionConverter(convert);
  const { conversion } = spec;
  if (conversion?.strategy !== 'Webhook' || conversion.webhook === undefined) return undefined;
  return new WebhookConverter({ name, webhook: conversion.webhook, pool: ports.webhooks, newUid: ports.newUid });
}

export interface DefinitionConversionOptions {
  readonly definition: Definition;
  readonly converter: Converter;
  /** Returns the schema of a version of the definition by its apiVersion. */
  readonly schemaOf: (apiVersion: string) => SchemaNode | undefined;
  readonly ports: Pick<ConversionPorts, 'metrics' | 'clock'>;
}

/** Objects of one version, with their indices in the call. */
interface Group {
  readonly fromApiVersion: string;
  readonly objects: Original[];
  readonly places: number[];
}

export class DefinitionConversion implements ObjectConversion {
  readonly #options: DefinitionConversionOptions;
  #converter: Converter;

  constructor(options: DefinitionConversionOptions) {
    this.#options = options;
    this.#converter = options.converter;
  }

  /** Uses another converter from now on, such as the same webhook with new authorities. */
  use(converter: Converter): void {
    this.#converter = converter;
  }

  async convert(
    objects: readonly Original[],
    apiVersion: string,
    context: ConversionContext = {},
  ): Promise<readonly UnstructuredObject[]> {
    const results = [...objects] as UnstructuredObject[];
    for (const group of groupsOf(objects, apiVersion)) {
      this.#requireVersions(group.fromApiVersion, apiVersion);
      const converted = await this.#observed(group, { ...context, apiVersion });
      for (const [index, place] of group.places.entries()) results[place] = converted[index] as UnstructuredObject;
    }
    return results;
  }

  #requireVersions(from: string, to: string): void {
    const { schemaOf } = this.#options;
    if (schemaOf(to) === undefined) throw plainError(`request to convert CR to an invalid group/version: ${to}`);
    if (schemaOf(from) === undefined) throw plainError(`request to convert CR from an invalid group/version: ${from}`);
  }

  async #observed(group: Group, target: Target): Promise<readonly UnstructuredObject[]> {
    const { definition, ports } = this.#options;
    const startMs = ports.clock.monotonicNow();
    const observe = (failure?: ConversionFailure): void =>
      ports.metrics.observe({
        name: definition.metadata?.name ?? '',
        fromVersion: parseApiVersion(group.fromApiVersion)?.version ?? '',
        toVersion: parseApiVersion(target.apiVersion)?.version ?? '',
        durationMs: ports.clock.monotonicNow() - startMs,
        failure: failure?.type,
      });
    try {
      const converted = await this.#converted(group, target);
      observe();
      return converted;
    } catch (error) {
      if (!(error instanceof ConversionFailure)) throw error;
      observe(error);
      throw plainError(`${this.#titleOf(group)} ${error.message}`, error);
    }
  }

  async #converted({ objects }: Group, { apiVersion, ...context }: Target): Promise<readonly UnstructuredObject[]> {
    const values = await this.#converter.convert({ ...context, objects, desiredApiVersion: apiVersion });
    if (values.length !== objects.length) {
      const message = `returned ${values.length} objects, expected ${objects.length}`;
      throw new ConversionFailure(message, { type: 'conversion_webhook_partial_response_failure' });
    }
    const schema = this.#options.schemaOf(apiVersion) as SchemaNode;
    const slice = new TurnSlice();
    const results: UnstructuredObject[] = [];
    for (const [index, value] of values.entries()) {
      const accepted = runInTurns(accept(objects, { index, value, apiVersion, schema }), context.signal);
      results.push(accepted instanceof Promise ? await accepted : accepted);
      if (slice.endsHere()) await slice.nextTurn();
    }
    return results;
  }

  #titleOf({ fromApiVersion, objects }: Group): string {
    const { definition } = this.#options;
    const { group = '', version = '' } = parseApiVersion(fromApiVersion) ?? {};
    const kind = objects[0]?.kind ?? definition.spec.names.kind;
    return `${this.#converter.title} ${formatGroupVersionKind({ group, version, kind })}`;
  }
}

interface Target extends ConversionContext {
  readonly apiVersion: string;
}

function groupsOf(objects: readonly Original[], apiVersion: string): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const [place, object] of objects.entries()) {
    const fromApiVersion = object.apiVersion ?? '';
    if (fromApiVersion === apiVersion) continue;
    const group = groups.get(fromApiVersion) ?? { fromApiVersion, objects: [], places: [] };
    groups.set(fromApiVersion, group);
    group.objects.push(object);
    group.places.push(place);
  }
  return groups.values();
}

interface Answered {
  readonly index: number;
  readonly value: unknown;
  readonly apiVersion: string;
  readonly schema: SchemaNode;
}

/**
 * Checks an answered object and prunes it by its schema. The error texts for a single object differ from the texts for
 * several.
 */
function* accept(
  objects: readonly Original[],
  { index, value, apiVersion, schema }: Answered,
): SlicedWork<UnstructuredObject> {
  try {
    const object = yield* acceptConverted(objects[index] as Original, value, apiVersion);
    yield* pruneInSlices(object, schema);
    return object;
  } catch (error) {
    if (!(error instanceof ConvertedFault)) throw error;
    throw new ConversionFailure(faultText(error, { index, isAlone: objects.length === 1 }), {
      type: 'conversion_webhook_invalid_converted_object_failure',
      cause: error,
    });
  }
}

function faultText(
  { what, hasIndex, message }: ConvertedFault,
  { index, isAlone }: { index: number; isAlone: boolean },
): string {
  if (isAlone) {
    const place = hasIndex ? ' at index 0' : '';
    return what === 'metadata'
      ? `returned invalid metadata: ${message}`
      : `returned invalid object${place}: ${message}`;
  }
  if (what === 'metadata') return `returned invalid metadata in object at index ${index}: ${message}`;
  return `returned invalid converted object at index ${index}: ${message}`;
}

/** Returns an error that the Go library leaves untyped: 500 with its own text and no reason. */
function plainError(message: string, cause?: unknown): StatusError {
  return new StatusError({ code: 500, reason: '', message }, { cause });
}

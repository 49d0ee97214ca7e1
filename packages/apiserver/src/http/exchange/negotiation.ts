// Content negotiation: in which format and shape an answer is wanted, in which format a body comes.
// Source: apiserver pkg/endpoints/handlers/negotiation (1.36); the first, coarser check is go-restful's.
import { StatusError } from '@kapstan/api';
import { notAcceptable } from '@kapstan/api/errors';
import { jsonFormat, type WireFormat, wireFormats } from '../../codec/wire-format.ts';
import { unknownBodyFormat } from '../../registry/definition/route-errors.ts';
import { essenceOf, hasWellFormedParameters, type MediaType, parseAccept } from './media-type.ts';

export const knownMediaTypes: readonly string[] = wireFormats.map((format) => format.mediaType);
const knownStreams: readonly string[] = wireFormats
  .filter((format) => format.canStream)
  .map((format) => `${format.mediaType};stream=watch`);
const collectionMediaTypes: readonly string[] = [...knownMediaTypes, ...knownStreams];

/** The shape asked for with `as=…;g=meta.k8s.io;v=…`. */
interface TransformTarget {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: 'v1' | 'v1beta1';
}

export interface OutputForm {
  readonly format: WireFormat;
  readonly isPretty: boolean;
  /** Absent: the object as it is. */
  readonly target?: TransformTarget;
}

export interface OutputRequest {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly query: URLSearchParams;
}

export interface ResourceForms {
  readonly produces: 'object' | 'collection';
  /** Custom resources have no protobuf form of their own. */
  readonly isCustom: boolean;
  /** Whether a route says what it produces, and refuses other types before the handler. Custom resources have no routes. */
  readonly isRouted: boolean;
  readonly hasTable: boolean;
}

/** The form of a resource's answer. Throws 406. */
export function negotiateResourceOutput(request: OutputRequest, forms: ResourceForms): OutputForm {
  if (forms.isRouted)
    requireProduced(request.accept ?? '', forms.produces === 'object' ? knownMediaTypes : collectionMediaTypes);
  const form = negotiate(request, transformOf(forms));
  if (form === undefined) throw notAcceptable(accepted(knownMediaTypes));
  return form;
}

/** The form of a watch. Throws 406 for formats without a stream. */
export function negotiateStreamOutput(request: OutputRequest, isCustom: boolean): OutputForm {
  const form = negotiateResourceOutput(request, {
    produces: 'collection',
    isCustom,
    isRouted: !isCustom,
    hasTable: true,
  });
  if (!form.format.canStream) throw notAcceptable(accepted(knownStreams));
  return form;
}

/** The form of anything else: errors, discovery, version. Undefined when nothing fits. */
export function negotiatePlainOutput(request: OutputRequest): OutputForm | undefined {
  return negotiate(request, (media) => (media.parameters.has('as') ? 'refused' : undefined));
}

/** The format of a request's body; JSON when the header is absent. Throws 415. */
export function negotiateInput(contentType: string | undefined): WireFormat {
  if (contentType === undefined || contentType === '') return jsonFormat;
  const essence = essenceOf(contentType);
  const format = wireFormats.find((candidate) => candidate.mediaType === essence);
  if (format !== undefined && hasWellFormedParameters(contentType)) return format;
  throw unknownBodyFormat(knownMediaTypes);
}

type TransformChoice = TransformTarget | 'refused' | undefined;

function negotiate(request: OutputRequest, transform: (media: MediaType, format: WireFormat) => TransformChoice) {
  const header = request.accept ?? '';
  if (header === '') return { format: jsonFormat, isPretty: isPrettyRequest(request) };
  for (const media of parseAccept(header).media) {
    for (const format of wireFormats) {
      const form = isMatch(media, format) ? acceptClause(media, format, { request, transform }) : undefined;
      if (form !== undefined) return form;
    }
  }
  return undefined;
}

function acceptClause(
  media: MediaType,
  format: WireFormat,
  how: {
    readonly request: OutputRequest;
    readonly transform: (media: MediaType, format: WireFormat) => TransformChoice;
  },
): OutputForm | undefined {
  const stream = media.parameters.get('stream') ?? '';
  if (stream !== '' && !(format.canStream && stream === 'watch')) return undefined;
  const target = how.transform(media, format);
  if (target === 'refused') return undefined;
  const isPretty = media.parameters.get('pretty') === '1' || isPrettyRequest(how.request);
  return { format, isPretty, ...(target === undefined ? {} : { target }) };
}

const partsOf: ReadonlyMap<WireFormat, readonly string[]> = new Map(
  wireFormats.map((format) => [format, format.mediaType.split('/')]),
);

function isMatch(media: MediaType, format: WireFormat): boolean {
  const [type, subtype] = partsOf.get(format) ?? [];
  return (media.type === '*' || media.type === type) && (media.subtype === '*' || media.subtype === subtype);
}

/** Source: RequestScope.AllowsMediaTypeTransform. */
function transformOf({
  isCustom,
  hasTable,
}: Pick<ResourceForms, 'isCustom' | 'hasTable'>): (media: MediaType, format: WireFormat) => TransformChoice {
  return (media, format) => {
    const target = targetOf(media);
    if (!hasTable && target !== 'refused' && target?.kind === 'Table') return 'refused';
    if (target === 'refused' || format.name !== 'protobuf') return target;
    return target === undefined ? (isCustom ? 'refused' : undefined) : target.kind === 'Table' ? 'refused' : target;
  };
}

/** `as`, `g` and `v` together name a kind of meta.k8s.io, or the clause does not count. */
function targetOf(media: MediaType): TransformChoice {
  const { parameters } = media;
  if (!parameters.has('as') && !parameters.has('g') && !parameters.has('v')) return undefined;
  const kind = parameters.get('as');
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return 'refused';
  if (kind !== 'Table' && kind !== 'PartialObjectMetadata' && kind !== 'PartialObjectMetadataList') return 'refused';
  return { kind, version };
}

/** Routes name what they produce, and are matched without parameters. Throws 406. Source: go-restful Route.matchesAccept. */
export function requireProduced(accept: string, available: readonly string[]): void {
  if (accept === '') return;
  if (parseAccept(accept).types.some((type) => type === '*/*' || available.includes(type))) return;
  throw new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`,
    details: {},
  });
}

const prettyAgents = ['curl', 'Wget', 'Mozilla/5.0'];

/** `pretty` in the query decides; else tools that people look at get indented JSON. */
function isPrettyRequest(request: OutputRequest): boolean {
  const asked = request.query.get('pretty') ?? '';
  if (asked !== '') return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(asked);
  return prettyAgents.some((agent) => request.userAgent?.startsWith(agent) === true);
}

function accepted(mediaTypes: readonly string[]): string {
  return `only the following media types are accepted: ${mediaTypes.join(', ')}`;
}

/** The 406 of paths that have no other shape than their own. */
export function notAcceptableHere(): StatusError {
  return notAcceptable(accepted(knownMediaTypes));
}

// Content negotiation decides the format and shape of an answer and the format of a body. Source: apiserver
// pkg/endpoints/handlers/negotiation (1.36); the first, coarser check is go-restful's.
import { StatusError } from '@kapstan/api';
import { notAcceptable } from '@kapstan/api/errors';
import { jsonFormat, type WireFormat, wireFormats } from '../../codec/wire-format.ts';
import { unknownBodyFormat } from '../../registry/definition/route-errors.ts';
import { hasWellFormedParameters } from '../../schema/formats/media-type-syntax.ts';
import { essenceOf, type MediaType, parseAccept } from './media-type.ts';

export const knownMediaTypes: readonly string[] = wireFormats.map((format) => format.mediaType);
const knownStreams: readonly string[] = wireFormats
  .filter((format) => format.canStream)
  .map((format) => `${format.mediaType};stream=watch`);
const collectionMediaTypes: readonly string[] = [...knownMediaTypes, ...knownStreams];

/** The shape requested by `as=…;g=meta.k8s.io;v=…`. */
interface TransformTarget {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: 'v1' | 'v1beta1';
}

export interface OutputForm {
  readonly format: WireFormat;
  readonly isPretty: boolean;
  /** Absent = the object as it is. */
  readonly target?: TransformTarget | undefined;
}

export interface OutputRequest {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly query: URLSearchParams;
}

export interface ResourceForms {
  readonly produces: 'object' | 'collection';
  /** True for custom resources, which have no protobuf form. */
  readonly isCustom: boolean;
  /**
   * True when a route declares the types that it produces and refuses others before the handler runs. Custom resources
   * have no routes.
   */
  readonly isRouted: boolean;
  readonly hasTable: boolean;
}

/** Chooses the form of a resource's answer. Throws 406. */
export function negotiateResourceOutput(request: OutputRequest, forms: ResourceForms): OutputForm {
  if (forms.isRouted)
    requireProduced(request.accept ?? '', forms.produces === 'object' ? knownMediaTypes : collectionMediaTypes);
  const form = negotiate(request, transformOf(forms));
  if (form === undefined) throw notAcceptable(accepted(knownMediaTypes));
  return form;
}

/** Chooses the form of a watch. Throws 406 for formats that cannot be streamed. */
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

/** Chooses the form of errors, discovery, version and similar documents. Returns undefined when none fits. */
export function negotiatePlainOutput(request: OutputRequest): OutputForm | undefined {
  return negotiate(request, (media) => (media.parameters.has('as') ? 'refused' : undefined));
}

/** Returns the format of a request's body; JSON when the header is absent. Throws 415. */
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
  return { format, isPretty, target };
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

/** A clause counts only if `as`, `g` and `v` together name a kind of meta.k8s.io. */
function targetOf(media: MediaType): TransformChoice {
  const { parameters } = media;
  if (!parameters.has('as') && !parameters.has('g') && !parameters.has('v')) return undefined;
  const kind = parameters.get('as');
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return 'refused';
  if (kind !== 'Table' && kind !== 'PartialObjectMetadata' && kind !== 'PartialObjectMetadataList') return 'refused';
  return { kind, version };
}

/**
 * Throws 406 when the route produces none of the accepted types; parameters are ignored. Source: go-restful
 * Route.matchesAccept.
 */
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

/** `pretty` in the query decides; without it, tools that people read directly get indented JSON. */
export function isPrettyRequest(request: OutputRequest): boolean {
  const asked = request.query.get('pretty') ?? '';
  if (asked !== '') return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(asked);
  return prettyAgents.some((agent) => request.userAgent?.startsWith(agent) === true);
}

function accepted(mediaTypes: readonly string[]): string {
  return `only the following media types are accepted: ${mediaTypes.join(', ')}`;
}

/** Returns the 406 of paths whose answer has only one form. */
export function notAcceptableHere(): StatusError {
  return notAcceptable(accepted(knownMediaTypes));
}

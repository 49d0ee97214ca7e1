// Says how lists and watches are requested and parsed: for callers, who may change the objects, or for caches, whose objects nobody may
// change.
import { SharingParser } from './sharing-parser.ts';

export interface AnswerForm {
  /** Value of the accept header. */
  readonly accept: string;
  /** Parses an item of a list or a line of a watch. Default: each on its own. */
  readonly parse?: (text: string) => unknown;
}

const json = 'application/json';

export const plainForm: AnswerForm = { accept: json };

/** Requests metadata only; a server that does not support this sends whole objects. */
export function metadataAccept(kind: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): string {
  return `${json};as=${kind};g=meta.k8s.io;v=v1,${json}`;
}

export interface CacheFormOptions {
  readonly metadataOnly: boolean;
  /** True if equal parts of objects become one shared, frozen value. */
  readonly sharesEqualParts: boolean;
}

export function cacheForms({ metadataOnly, sharesEqualParts }: CacheFormOptions): Record<'list' | 'watch', AnswerForm> {
  const list = metadataOnly ? metadataAccept('PartialObjectMetadataList') : json;
  const watch = metadataOnly ? metadataAccept('PartialObjectMetadata') : json;
  if (!sharesEqualParts) return { list: { accept: list }, watch: { accept: watch } };
  const { parseObject, parseEvent } = new SharingParser();
  return { list: { accept: list, parse: parseObject }, watch: { accept: watch, parse: parseEvent } };
}

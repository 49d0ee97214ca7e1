// How lists and watches are asked for and read: for callers, who may change what they get, or for caches, whose objects nobody may.
import { SharingParser } from './sharing-parser.ts';

export interface AnswerForm {
  /** Value of the header. */
  readonly accept: string;
  /** Reads an item of a list or a line of a watch. Default: each by itself. */
  readonly parse?: (text: string) => unknown;
}

const json = 'application/json';

export const plainForm: AnswerForm = { accept: json };

/** Metadata alone; whole objects from a server that cuts nothing down. */
export function metadataAccept(kind: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): string {
  return `${json};as=${kind};g=meta.k8s.io;v=v1,${json}`;
}

export interface CacheFormOptions {
  readonly metadataOnly: boolean;
  /** Whether objects hold the same frozen values of what they have in common. */
  readonly sharesEqualParts: boolean;
}

export function cacheForms({ metadataOnly, sharesEqualParts }: CacheFormOptions): Record<'list' | 'watch', AnswerForm> {
  const list = metadataOnly ? metadataAccept('PartialObjectMetadataList') : json;
  const watch = metadataOnly ? metadataAccept('PartialObjectMetadata') : json;
  if (!sharesEqualParts) return { list: { accept: list }, watch: { accept: watch } };
  const { parseObject, parseEvent } = new SharingParser();
  return { list: { accept: list, parse: parseObject }, watch: { accept: watch, parse: parseEvent } };
}

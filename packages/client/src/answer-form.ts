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

/** Objects hold the same frozen values of what they have in common. */
export function cacheForms({ metadataOnly }: { readonly metadataOnly: boolean }): Record<'list' | 'watch', AnswerForm> {
  const accept = (kind: string): string => (metadataOnly ? `${json};as=${kind};g=meta.k8s.io;v=v1,${json}` : json);
  const { parseObject, parseEvent } = new SharingParser();
  return {
    list: { accept: accept('PartialObjectMetadataList'), parse: parseObject },
    watch: { accept: accept('PartialObjectMetadata'), parse: parseEvent },
  };
}

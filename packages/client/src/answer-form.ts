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

/** Objects hold the same frozen values of what they have in common. */
export function cacheForms({ metadataOnly }: { readonly metadataOnly: boolean }): Record<'list' | 'watch', AnswerForm> {
  const { parseObject, parseEvent } = new SharingParser();
  return {
    list: { accept: metadataOnly ? metadataAccept('PartialObjectMetadataList') : json, parse: parseObject },
    watch: { accept: metadataOnly ? metadataAccept('PartialObjectMetadata') : json, parse: parseEvent },
  };
}

// Writes objects as YAML that kubectl applies: sorted keys, no anchors, no folded lines, so that the same objects always give the same text.
import type { KubernetesObject } from '@kapstan/api';
import { Document, isMap, isScalar, isSeq, type Node } from 'yaml';

/** An object with comments: before it, and before items of its lists by their path, such as ["rules", 0]. */
export interface CommentedObject {
  readonly object: KubernetesObject;
  readonly comments?: readonly string[];
  readonly itemComments?: readonly { readonly path: readonly (string | number)[]; readonly text: string }[];
}

/** Returns one document for each object, after a head of comment lines. */
export function yamlText(head: readonly string[], objects: readonly CommentedObject[]): string {
  const documents = objects.map((one) => documentText(one));
  return `${head.map((line) => `# ${line}\n`).join('')}---\n${documents.join('---\n')}`;
}

function documentText({ object, comments = [], itemComments = [] }: CommentedObject): string {
  const document = new Document(object, { aliasDuplicateObjects: false, sortMapEntries: true });
  for (const { path, text } of itemComments) comment(document, path, text);
  const text = document.toString({ lineWidth: 0 });
  return comments.map((line) => `# ${oneLine(line)}\n`).join('') + text;
}

function comment(document: Document, path: readonly (string | number)[], text: string): void {
  const node = document.getIn(path, true) as Node | undefined;
  if (isMap(node) || isSeq(node) || isScalar(node)) node.commentBefore = ` ${oneLine(text)}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

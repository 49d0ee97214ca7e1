// The formats of objects in requests and answers: JSON, YAML and, for built-in kinds, protobuf. Used by negotiation and
// by every answer.

import { ExactNumber, stringifyJson } from '@kapstan/api';
import { type GroupVersionKind, isJsonObject, parseApiVersion } from '@kapstan/api/internal';
import { type ScalarTag, stringify } from 'yaml';
import { metaTypes } from '../schema/meta-types.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';
import { envelopeEncoder, protobufMediaType } from './protobuf-envelope.ts';

export interface WireFormat {
  readonly name: 'json' | 'yaml' | 'protobuf';
  readonly mediaType: string;
  /** True when watches can be sent in this format. */
  readonly canStream: boolean;
}

export const jsonFormat: WireFormat = { name: 'json', mediaType: 'application/json', canStream: true };
export const yamlFormat: WireFormat = { name: 'yaml', mediaType: 'application/yaml', canStream: false };

/** This format is for built-in kinds only; metadata is the only other shape it supports. */
export const protobufFormat: WireFormat = { name: 'protobuf', mediaType: protobufMediaType, canStream: true };

/** The formats in kube-apiserver's order; the first is the default. */
export const wireFormats: readonly WireFormat[] = [jsonFormat, yamlFormat, protobufFormat];

const encoder = new TextEncoder();

interface ValueStyle {
  /** True = JSON on several lines. Default false. */
  readonly isPretty?: boolean | undefined;
  /** Types with the value's kind, for protobuf. Default: the types that every server has. */
  readonly types?: ApiTypes | undefined;
}

/**
 * Encodes a whole value. JSON ends with a newline unless it is indented, as in Go. Throws TypeError for a value without
 * a protobuf form; ask {@link hasProtobufForm} first.
 */
export function encodeValue(format: WireFormat, value: unknown, style: ValueStyle = {}): Uint8Array {
  const { isPretty = false, types = metaTypes } = style;
  switch (format.name) {
    case 'json':
      return encoder.encode(isPretty ? stringifyJson(value, 2) : `${stringifyJson(value)}\n`);
    case 'yaml':
      return encoder.encode(encodeYaml(value));
    case 'protobuf':
      return envelopeEncoder(types, kindOfValue(value))(value);
  }
}

/** True for a value of a kind that every server has and that has a protobuf form. */
export function hasProtobufForm(value: unknown): boolean {
  return metaTypes.messageOfKind(kindOfValue(value)) !== undefined;
}

function kindOfValue(value: unknown): GroupVersionKind {
  const object = isJsonObject(value) ? value : {};
  const text = (name: string): string => (typeof object[name] === 'string' ? object[name] : '');
  return { ...parseApiVersion(text('apiVersion')), kind: text('kind') };
}

/** Writes numbers that a double cannot hold with all digits. */
const exactNumberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  // The tag is used for writing only.
  test: /(?!)/,
  identify: (value) => value instanceof ExactNumber,
  resolve: (text) => new ExactNumber(text),
  stringify: (item) => String(item.value),
};

/**
 * Writes sorted keys, sequences without indentation, and quotes where a YAML 1.1 reader would misread a text
 * (sigs.k8s.io/yaml).
 */
export function encodeYaml(value: unknown): string {
  return stringify(value, {
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
    compat: 'yaml-1.1',
    customTags: (tags) => [exactNumberTag, ...tags],
  });
}

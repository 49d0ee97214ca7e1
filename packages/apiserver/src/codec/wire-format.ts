// The formats of objects in requests and answers: JSON, YAML and, for built-in kinds, protobuf. Used by negotiation and
// by every answer.

import { stringifyJson } from '@kapstan/api';
import {
  encodeJsonInSlices,
  fitsOneSlice,
  type GroupVersionKind,
  isJsonObject,
  parseApiVersion,
  type SlicedWork,
} from '@kapstan/api/internal';
import { metaTypes } from '../schema/meta-types.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';
import { envelopeEncoder, protobufMediaType } from './protobuf-envelope.ts';
import { encodeYaml, encodeYamlInSlices } from './yaml-encoder.ts';

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

/** Does what {@link encodeValue} does, in slices. Protobuf is one step of some 25 ms for 80,000 members. */
export function* encodeValueInSlices(
  format: WireFormat,
  value: unknown,
  style: ValueStyle = {},
): SlicedWork<Uint8Array> {
  if (fitsOneSlice(value)) return encodeValue(format, value, style);
  switch (format.name) {
    case 'json':
      return yield* encodeJsonInSlices(value, style.isPretty === true ? { pad: '' } : { after: '\n' });
    case 'yaml':
      return yield* encodeYamlInSlices(value);
    case 'protobuf':
      yield;
      return encodeValue(format, value, style);
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

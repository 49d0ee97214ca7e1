// The formats in which objects cross the wire as text: JSON and YAML. Used by negotiation and by every response.
import { ExactNumber, stringifyJson } from '@kapstan/api';
import { type ScalarTag, stringify } from 'yaml';

export interface WireFormat {
  readonly name: 'json' | 'yaml';
  readonly mediaType: string;
  /** True when watches can be sent in it. */
  readonly canStream: boolean;
}

export const jsonFormat: WireFormat = { name: 'json', mediaType: 'application/json', canStream: true };
export const yamlFormat: WireFormat = { name: 'yaml', mediaType: 'application/yaml', canStream: false };

/** In the order of kube-apiserver: the first is the default. */
export const wireFormats: readonly WireFormat[] = [jsonFormat, yamlFormat];

const encoder = new TextEncoder();

/** A whole value. JSON ends with a newline unless it is indented, as Go's encoder leaves it. */
export function encodeValue(format: WireFormat, value: unknown, style?: 'pretty'): Uint8Array {
  return encoder.encode(encodeText(format, value, style));
}

export function encodeText(format: WireFormat, value: unknown, style?: 'pretty'): string {
  switch (format.name) {
    case 'json':
      return style === 'pretty' ? stringifyJson(value, 2) : `${stringifyJson(value)}\n`;
    case 'yaml':
      return encodeYaml(value);
  }
}

/** Numbers that do not fit a double keep their digits. */
const exactNumberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: false,
  identify: (value) => value instanceof ExactNumber,
  resolve: (text) => new ExactNumber(text),
  stringify: (item) => String(item.value),
};

/** Sorted keys, sequences not indented, texts quoted where a YAML 1.1 reader would misread them (sigs.k8s.io/yaml). */
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

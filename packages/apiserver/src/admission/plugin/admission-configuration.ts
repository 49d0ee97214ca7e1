// Parses the file of --admission-control-config-file: the configurations of plug-ins, or the paths of their files. The control plane reads
// the files; plug-ins parse their own configurations. Source: apiserver pkg/admission/config.go.
import { stringifyJson } from '@kapstan/api';
import {
  decodeConfiguration,
  fileSchema,
  listSchema,
  structSchema,
  textSchema,
} from '../../schema/configuration-file.ts';

/** The configuration of one plug-in in the file of `--admission-control-config-file`. */
export interface PluginConfiguration {
  /** Name of the plug-in. */
  readonly name: string;
  /** The configuration itself, as JSON. Absent = it is in the file at `path`. */
  readonly text?: string;
  /** Path of a file, relative to the one that names it. Absent = none. */
  readonly path?: string;
}

const kinds = new Map(
  ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'].map((version) => [version, 'AdmissionConfiguration']),
);
const schema = fileSchema('v1.AdmissionConfiguration', {
  plugins: listSchema(
    structSchema('v1.AdmissionPluginConfiguration', {
      name: textSchema,
      path: textSchema,
      configuration: { preserveUnknownFields: true },
    }),
  ),
});

/**
 * Returns the first entry of each plug-in; later ones have no effect. Throws an Error that describes the fault of the
 * text.
 */
export function parseAdmissionConfiguration(text: string): readonly PluginConfiguration[] {
  const decoded = decodeConfiguration(text, { kinds, schema });
  const { plugins = [] } = decoded as { readonly plugins?: readonly Entry[] };
  const entries = new Map<string, PluginConfiguration>();
  for (const { name = '', path = '', configuration } of plugins) {
    if (entries.has(name)) continue;
    if (configuration !== undefined && configuration !== null)
      entries.set(name, { name, text: stringifyJson(configuration) });
    else if (path !== '') entries.set(name, { name, path });
  }
  return [...entries.values()];
}

interface Entry {
  readonly name?: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

// Converts a definition to and from its stored form: the old v1beta1 form, as kube-apiserver writes it to etcd, so that
// both can read each other's data. Source: apiextensions v1beta1 types and conversions.

import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import type {
  CustomResourceColumnDefinition,
  CustomResourceConversion,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { hoistSpec, lowerVersions } from './hoisted-spec.ts';

type Fields = Record<string, unknown>;
const storedApiVersion = 'apiextensions.k8s.io/v1beta1';

/** Converts v1 to the stored form. */
export function toStoredDefinition(object: UnstructuredObject): UnstructuredObject {
  const spec = (object as { spec?: CustomResourceDefinitionSpec }).spec;
  if (spec === undefined) return { ...object, apiVersion: storedApiVersion };
  const { versions: _versions, conversion, preserveUnknownFields, group, names, scope, ...rest } = spec;
  const { shared, versions } = hoistSpec(spec);
  const { schema, additionalPrinterColumns, ...others } = shared;
  const stored: Fields = {
    group,
    ...(versions[0] === undefined ? {} : { version: versions[0].name }),
    names,
    scope,
    ...(schema === undefined ? {} : { validation: schema }),
    ...others,
    versions: versions.map(storedVersion),
    ...storedColumns(additionalPrinterColumns),
    ...(conversion === undefined ? {} : { conversion: storedConversion(conversion) }),
    preserveUnknownFields: preserveUnknownFields === true,
    ...rest,
  };
  return { ...object, apiVersion: storedApiVersion, spec: stored };
}

function storedVersion(version: DeepReadonly<CustomResourceDefinitionVersion>): Fields {
  const { additionalPrinterColumns, ...rest } = version;
  return { ...rest, ...storedColumns(additionalPrinterColumns) };
}

function storedColumns(columns: DeepReadonly<CustomResourceColumnDefinition[]> | undefined): Fields {
  if (columns === undefined) return {};
  return {
    additionalPrinterColumns: columns.map(({ jsonPath, ...column }) => ({ ...column, JSONPath: jsonPath })),
  };
}

function storedConversion({ webhook, ...conversion }: CustomResourceConversion): Fields {
  if (webhook === undefined) return { ...conversion };
  const { clientConfig, conversionReviewVersions } = webhook;
  return {
    ...conversion,
    ...(clientConfig === undefined ? {} : { webhookClientConfig: clientConfig }),
    ...(conversionReviewVersions === undefined ? {} : { conversionReviewVersions }),
  };
}

/**
 * Converts the stored form to v1; both have their parts in common. Accepts v1 as well, which other tools may have written.
 */
export function fromStoredDefinition(object: DeepReadonly<UnstructuredObject>): UnstructuredObject {
  const copy = { ...object, apiVersion: 'apiextensions.k8s.io/v1' } as UnstructuredObject;
  const spec = getOwn(copy, 'spec');
  const isOld = object.apiVersion === storedApiVersion;
  if (!isOld || !isJsonObject(spec)) return copy;
  const { version, validation, subresources, additionalPrinterColumns, selectableFields, ...rest } = spec;
  const { versions, conversion, ...kept } = rest;
  const shared: Fields = {
    ...(validation === undefined ? {} : { schema: validation }),
    ...(subresources === undefined ? {} : { subresources }),
    ...servedColumns(additionalPrinterColumns),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
  const listed =
    Array.isArray(versions) && versions.length > 0 ? versions : [{ name: version, served: true, storage: true }];
  const own = (listed as Fields[]).map((entry) => ({ ...entry, ...servedColumns(entry.additionalPrinterColumns) }));
  const next: Fields = {
    ...kept,
    versions: lowerVersions({ shared, versions: own as unknown as CustomResourceDefinitionVersion[] }),
    ...(isJsonObject(conversion) ? { conversion: servedConversion(conversion) } : {}),
  };
  if (next.preserveUnknownFields !== true) delete next.preserveUnknownFields;
  return { ...copy, spec: next };
}

function servedColumns(columns: unknown): Fields {
  if (!Array.isArray(columns)) return {};
  return {
    additionalPrinterColumns: (columns as Fields[]).map(({ JSONPath, ...column }) => ({
      ...column,
      jsonPath: JSONPath,
    })),
  };
}

function servedConversion({ webhookClientConfig, conversionReviewVersions, ...conversion }: Fields): Fields {
  if (webhookClientConfig === undefined && conversionReviewVersions === undefined) return conversion;
  return {
    ...conversion,
    webhook: {
      ...(webhookClientConfig === undefined ? {} : { clientConfig: webhookClientConfig }),
      ...(conversionReviewVersions === undefined ? {} : { conversionReviewVersions }),
    },
  };
}

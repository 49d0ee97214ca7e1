// DefinitionOrigin: what a ResourceDefinition is made from, so that a thread can make the same. Read by large-validation.ts.
import type { DeepReadonly } from '@kapstan/api';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { ValidationPolicy } from './validation/field.ts';

/** What a definition is made from, as data: another thread can make the same. */
export type DefinitionOrigin =
  | { readonly type: 'builtin'; readonly id: string; readonly policy?: ValidationPolicy }
  | {
      readonly type: 'custom';
      readonly definition: DeepReadonly<CustomResourceDefinition>;
      readonly version: DeepReadonly<CustomResourceDefinitionVersion>;
      readonly names: DeepReadonly<CustomResourceDefinition['spec']['names']>;
    };

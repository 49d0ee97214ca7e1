// Makes definitions and custom resources in the thread that validates large objects.
import { parseJson, systemClock } from '@kapstan/api';
import type { DefinitionMakers, ResourceDefinition } from '@kapstan/apiserver';
import type { ResourceFacts } from '@kapstan/apiserver/internal';
import { type CustomResourceOptions, customResource } from '../resource/custom-resource.ts';
import { definitionResource } from './definition-resource.ts';

/** `facts` returns the API facts of the resource "customresourcedefinitions" itself. */
export function definitionMakers(facts: () => ResourceFacts): DefinitionMakers {
  let definitions: ResourceDefinition | undefined;
  // The last definition: clients write several large objects of a kind, and a definition with its compiled schema is
  // large too.
  let last: { readonly parts: string; readonly definition: ResourceDefinition } | undefined;
  return {
    definitions: () => {
      definitions ??= definitionResource({ clock: systemClock, facts: facts() });
      return definitions;
    },
    custom: (parts) => {
      if (last?.parts !== parts) {
        const origin = parseJson(parts) as unknown as Omit<CustomResourceOptions, 'isTerminating'>;
        last = { parts, definition: customResource({ ...origin, isTerminating: () => false }) };
      }
      return last.definition;
    },
  };
}

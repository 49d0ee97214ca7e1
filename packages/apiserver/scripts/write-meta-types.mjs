// Writes facts/meta-types.json: the part of the facts of @kapstan/kinds that every API server needs, whatever kinds it serves: metadata,
// Status, options, discovery, and the Scale that a resource may have as a subresource. Run it by hand when those facts have changed: node
// packages/apiserver/scripts/write-meta-types.mjs
import { readFileSync, writeFileSync } from 'node:fs';

const facts = (name) => JSON.parse(readFileSync(new URL(`../../kinds/facts/${name}.json`, import.meta.url), 'utf8'));
const isMeta = (name) => /^(meta\/|machinery\/|apidiscovery\.|autoscaling\.v1\.Scale)/.test(name);
const metaOf = (facts) => Object.fromEntries(Object.entries(facts).filter(([name]) => isMeta(name)));

const schemas = facts('schemas');
const protobuf = facts('protobuf');
const { queryParameters } = facts('discovery');
const kinds = Object.entries(schemas.kinds).filter(([, definition]) => isMeta(definition));
const versions = ['v1', 'meta.k8s.io/v1'];
const inMany = Object.entries(schemas.kindsInManyGroupVersions).map(([kind, { schema }]) => [
  kind,
  { schema, groupVersions: versions },
]);

const meta = {
  schemas: {
    prefixes: schemas.prefixes,
    kinds: Object.fromEntries(kinds),
    kindsInManyGroupVersions: Object.fromEntries(inMany),
    definitions: metaOf(schemas.definitions),
  },
  protobuf: { messages: metaOf(protobuf.messages), jsonForms: metaOf(protobuf.jsonForms) },
  goTypes: metaOf(facts('gotypes')),
  queryParameters,
};
writeFileSync(new URL('../facts/meta-types.json', import.meta.url), `${JSON.stringify(meta)}\n`);

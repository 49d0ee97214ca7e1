// Reads the file of --authorization-policy-file: one policy in JSON on each line, of version v1beta1 or in the old form
// without a version. Source: pkg/auth/authorizer/abac NewFromFile, pkg/apis/abac.
import { isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import { fileSchema, structSchema, textSchema } from '../schema/configuration-file.ts';
import { interpretKind, kindRegistry, readDocument } from '../schema/decode-object.ts';
import { StrictErrors } from '../schema/field-validation.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { decodeTyped } from '../schema/typed-decoder.ts';

/** "" matches nothing but itself; "*" matches all. */
export interface AttributePolicy {
  readonly user: string;
  readonly group: string;
  /** True = only get, list and watch. */
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  /** A star at the end matches any rest. */
  readonly nonResourcePath: string;
}

/** The rules of a file of `--authorization-policy-file` (ABAC). */
export interface AttributePolicies {
  readonly policies: readonly AttributePolicy[];
  /** Number of lines in the old form, which the server warns about. */
  readonly unversioned: number;
}

/** Longest line, as in Go's bufio.Scanner. */
const maxLineBytes = 65_536;
const allUsers = 'system:authenticated';
const flag: SchemaNode = { type: 'boolean' };
const common = { user: textSchema, group: textSchema, readonly: flag, resource: textSchema, namespace: textSchema };
const spec = structSchema('v1beta1.PolicySpec', { ...common, apiGroup: textSchema, nonResourcePath: textSchema });
const current = fileSchema('v1beta1.Policy', { spec });
const old = fileSchema('v0.Policy', common);

/** Lines between two yields, at about 15 microseconds each. */
const linesPerSlice = 16;

/** `path` appears in errors. Throws an Error that names the first line that is wrong. */
export function* parseAttributePolicies(text: string, path: string): SlicedWork<AttributePolicies> {
  const policies: AttributePolicy[] = [];
  let unversioned = 0;
  for (const [index, line] of linesOf(text).entries()) {
    if (index % linesPerSlice === 0) yield;
    if (Buffer.byteLength(line) >= maxLineBytes)
      throw new Error(`error reading policy file ${path}: bufio.Scanner: token too long`);
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    try {
      const { policy, isOld } = parseLine(line);
      if (isOld) unversioned++;
      policies.push(policy);
    } catch (error) {
      const why = (error as Error).message;
      throw new Error(`error reading policy file ${path}, line ${index + 1}: ${line}: ${why}`, { cause: error });
    }
  }
  return { policies, unversioned };
}

/** A scanner in Go drops one carriage return at the end of a line, and an empty last line. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.replace(/\r$/, ''));
}

interface ParsedLine {
  readonly policy: AttributePolicy;
  readonly isOld: boolean;
}

const group = 'abac.authorization.kubernetes.io';

/**
 * A line without a version or kind, or with unknown ones, is read again in the old form, whose errors are then reported.
 */
function parseLine(line: string): ParsedLine {
  const strict = new StrictErrors();
  const mediaType = line.trimStart().startsWith('{') ? 'application/json' : 'application/yaml';
  const { value, repeats } = readDocument(line, { mediaType }, strict);
  const said = interpretKind(value, { group: '', version: '', kind: '' });
  const root = isJsonObject(value) ? value : {};
  const decode = (schema: SchemaNode): object =>
    decodeTyped(root, { schema, strict, repeats, words: 'json' }) as object;
  const isCurrent = said.group === group && said.version === 'v1beta1';
  if (isCurrent && said.kind === 'Policy') {
    const { spec: fields = {} } = decode(current) as { readonly spec?: Fields };
    return { policy: currentPolicy(fields), isOld: false };
  }
  const { version, kind, ...assumed } = interpretKind(value, { group, version: 'v0', kind: 'Policy' });
  const isKnown = assumed.group === group && kind === 'Policy';
  if (isKnown && isCurrent) throw new Error('converting (v1beta1.Policy) to (v0.Policy): unknown conversion');
  if (!isKnown || version !== 'v0') {
    const apiVersion = assumed.group === '' ? version : `${assumed.group}/${version}`;
    throw new Error(`no kind "${kind}" is registered for version "${apiVersion}" ${kindRegistry}`);
  }
  return { policy: oldPolicy(decode(old)), isOld: said.version === '' || said.kind === '' };
}

type Fields = Partial<AttributePolicy>;

function currentPolicy(fields: Fields): AttributePolicy {
  return forAllUsers({ ...none, ...fields });
}

const none: AttributePolicy = {
  user: '',
  group: '',
  readonly: false,
  apiGroup: '',
  resource: '',
  namespace: '',
  nonResourcePath: '',
};

/** A star matches all authenticated users. */
function forAllUsers(policy: AttributePolicy): AttributePolicy {
  const isForAll = policy.user === '*' || policy.group === '*';
  return isForAll ? { ...policy, user: '', group: allUsers } : policy;
}

/** In the old form, every absent field matches everything. */
function oldPolicy({
  user = '',
  group = '',
  readonly = false,
  resource = '',
  namespace = '',
}: Fields): AttributePolicy {
  return forAllUsers({
    user,
    group: user === '' && group === '' ? allUsers : group,
    readonly,
    apiGroup: '*',
    resource: resource === '' ? '*' : resource,
    namespace: namespace === '' ? '*' : namespace,
    nonResourcePath: resource === '' && namespace === '' ? '*' : '',
  });
}

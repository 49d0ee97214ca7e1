// Converts objects between the versions of a controller's kind, always through the hub, which is the version of the
// controller's resource. Called over HTTPS by review-answers.ts and by an API server in the same process.
import {
  apiVersionOf,
  deepCopy,
  type KubernetesObject,
  type ObjectMeta,
  type Resource,
  type UnstructuredObject,
} from '@kapstan/api';
import { type ConversionHook, isJsonObject, parseApiVersion, setOwn, type VersionChange } from '@kapstan/api/internal';
import type { DeclaredHooks, VersionConversion } from '../builder/hook-types.ts';

type Conversions = DeclaredHooks['conversions'];

/** Returns the hook as servers call it. */
export function hubConversion(hub: Resource, conversions: Conversions): ConversionHook {
  return {
    definition: `${hub.plural}.${hub.group}`,
    group: hub.group,
    kind: hub.kind,
    convert: (object, change) => convertThroughHub(object, { hub, conversions, change }),
  };
}

interface Conversion {
  readonly hub: Resource;
  readonly conversions: Conversions;
  readonly change: VersionChange;
}

async function convertThroughHub(
  object: UnstructuredObject,
  { hub, conversions, change }: Conversion,
): Promise<UnstructuredObject> {
  const { fromApiVersion, toApiVersion } = change;
  const [from, to] = [versionOf(hub, fromApiVersion), versionOf(hub, toApiVersion)];
  if (from === to) return object;
  const source = conversionOf(hub, conversions, from);
  const target = conversionOf(hub, conversions, to);
  let result: UnstructuredObject = object;
  if (source !== undefined) result = await step(result, (copy) => source.to(copy), apiVersionOf(hub));
  if (target !== undefined) result = await step(result, (copy) => target.from(copy), toApiVersion);
  return result;
}

function versionOf(hub: Resource, apiVersion: string): string {
  const parsed = parseApiVersion(apiVersion);
  if (parsed?.group === hub.group) return parsed.version;
  throw new Error(`cannot convert ${hub.kind} between ${hub.group} and ${apiVersion}`);
}

/** Returns undefined for the hub itself. */
function conversionOf(
  hub: Resource,
  conversions: Conversions,
  version: string,
): VersionConversion<KubernetesObject, KubernetesObject> | undefined {
  const conversion = conversions.get(version);
  if (conversion === undefined && version !== hub.version)
    throw new Error(`the version ${version} of ${hub.kind} has no conversion; there are: ${known(hub, conversions)}`);
  return conversion;
}

function known(hub: Resource, conversions: Conversions): string {
  return [hub.version, ...conversions.keys()].join(', ');
}

type Step = (copy: KubernetesObject) => KubernetesObject | Promise<KubernetesObject>;

/** Sets the version, kind and metadata of the result, so that a function need not. */
async function step(object: UnstructuredObject, convert: Step, apiVersion: string): Promise<UnstructuredObject> {
  const result: unknown = await convert(deepCopy(object) as UnstructuredObject);
  if (!isJsonObject(result))
    throw new TypeError(
      `the conversion to ${apiVersion} returned ${result === null ? 'null' : typeof result}, not an object`,
    );
  const { metadata } = result;
  return { ...result, apiVersion, kind: object.kind ?? '', metadata: keptMetadata(object, metadata) };
}

/** The server refuses other changes of metadata or undoes them; here they are undone in any case. */
function keptMetadata(object: UnstructuredObject, converted: unknown): ObjectMeta {
  const kept = deepCopy(object.metadata ?? {}) as Record<string, unknown>;
  if (converted === undefined) return kept as ObjectMeta;
  const given = isJsonObject(converted) ? converted : {};
  for (const member of ['labels', 'annotations'] as const) {
    delete kept[member];
    const texts = given[member];
    if (texts !== undefined) setOwn(kept, member, texts);
  }
  return kept as ObjectMeta;
}

// Compiles the expressions that select devices. Source: k8s.io/dynamic-resource-allocation/cel/compile.go, with the
// feature gates of Kubernetes 1.36: DRAConsumableCapacity is on, DRAListTypeAttributes off.
import type { SlicedWork } from '@kapstan/api/internal';
import { CompileFault } from '@kapstan/apiserver/internal';
import {
  bindingsLibrary,
  CelCompileError,
  CelProgramError,
  type CelType,
  type CompiledExpression,
  compileInSlices,
  type Environment,
  newExpressions,
  type SizeEstimator,
  storedExpressions,
  structType,
  typeOf,
} from '@kapstan/cel';

/** Highest cost of an expression for one device. Source: CELSelectorExpressionMaxCost. */
const maxCost = 1_000_000n;

const device = structType('kubernetes.DRADevice');
const fields: ReadonlyMap<string, CelType> = new Map(
  Object.entries({
    driver: 'string',
    allowMultipleAllocations: 'bool',
    attributes: 'map(string, map(string, any))',
    capacity: 'map(string, map(string, kubernetes.Quantity))',
  }).map(([name, type]) => [name, typeOf(type)]),
);

/** A place in a device: how many elements, bytes or characters it has at most. */
interface Place {
  readonly max: number;
  readonly key?: Place;
  readonly element?: Place;
  readonly members?: Readonly<Record<string, Place>>;
  /** True for a map whose elements are places of the same size under any name. */
  readonly acceptsAnyName?: boolean;
}

const maxOfDevice = 32;
const domain: Place = { max: 63 };
const identifier: Place = { max: 32 };
const attributes: Place = { max: maxOfDevice, key: identifier, element: { max: 64 }, acceptsAnyName: true };
const capacities: Place = { max: maxOfDevice, key: identifier, element: { max: 0 } };
const root: Place = {
  max: 0,
  members: {
    driver: { max: 63 },
    allowMultipleAllocations: { max: 1 },
    attributes: { max: maxOfDevice, key: domain, element: attributes },
    capacity: { max: maxOfDevice, key: domain, element: capacities },
  },
};

function partOf(place: Place, name: string): Place | undefined {
  if (name === '@items' || name === '@values') return place.element;
  if (name === '@keys') return place.key;
  const { members } = place;
  if (members !== undefined && Object.hasOwn(members, name)) return members[name];
  return place.acceptsAnyName === true ? place.element : undefined;
}

/** Returns the limit of a part of `device`, which is the only variable. */
const sizes: SizeEstimator = ({ path }) => {
  if (path === undefined || path[0] !== 'device') return undefined;
  let place: Place | undefined = root;
  for (const name of path.slice(1)) place = place && partOf(place, name);
  return place && { min: 0n, max: BigInt(place.max) };
};

const environments = new Map<boolean, Environment>();

function environmentOf(isStored: boolean): Environment {
  const known = environments.get(isStored);
  if (known !== undefined) return known;
  const environment = (isStored ? storedExpressions() : newExpressions()).extend({
    libraries: [bindingsLibrary],
    variables: new Map([['device', device]]),
    provider: {
      hasStruct: (name) => name === device.name,
      fieldType: (name, field) => (name === device.name ? fields.get(field) : undefined),
    },
  });
  environments.set(isStored, environment);
  return environment;
}

/** Returns the fault of an expression; 'costly' when it may cost too much, undefined when it has none. */
export function* deviceExpressionFault(
  text: string,
  isStored: boolean,
): SlicedWork<CompileFault | 'costly' | undefined> {
  try {
    const compiled = yield* compileInSlices(text, { environment: environmentOf(isStored), sizes });
    if (!isAccepted(compiled))
      return new CompileFault(`must evaluate to bool or the unknown type, not ${compiled.type}`, false);
    yield;
    // Constants without a value are found when the program is made.
    void compiled.program;
    yield;
    return compiled.cost.max > maxCost ? 'costly' : undefined;
  } catch (error) {
    if (error instanceof CelCompileError) return new CompileFault(`compilation failed: ${error.message}`, false);
    if (error instanceof CelProgramError)
      return new CompileFault(`program instantiation failed: ${error.message}`, true);
    throw error;
  }
}

/** An attribute has an unknown type and may be a boolean. */
function isAccepted({ type }: CompiledExpression): boolean {
  return (type.kind === 'bool' && !type.isNullable) || type.kind === 'any';
}

// The endpoint that changes the CPU and memory of a running pod. Source: pkg/registry/core/pod/strategy.go
// dropNonResizeUpdates, pkg/apis/core/validation ValidatePodResize.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Field, ServerCapabilities, StrategySubresource } from '@kapstan/apiserver/internal';
import { jsonEqual, subresourceStrategy } from '@kapstan/apiserver/internal';
import type { Container, Pod, PodSpec, ResourceRequirements } from '@kapstan/kinds/core/v1';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { isMirror } from './annotation-validation.ts';
import { restorePod } from './ephemeral-containers.ts';
import { validatePod } from './pod-validation.ts';
import { qosClassOf } from './qos-class.ts';

type ReadonlyPod = DeepReadonly<Pod>;
type ReadonlySpec = DeepReadonly<PodSpec>;
type Containers = readonly DeepReadonly<Container>[];
type Resources = DeepReadonly<ResourceRequirements>;

const lists = ['initContainers', 'containers'] as const;
const emptySpec: ReadonlySpec = { containers: [] };

export function resizeSubresource(capabilities: ServerCapabilities): StrategySubresource<Pod> {
  const strategy = subresourceStrategy<Pod>(kindFactsOf('v1/pods', capabilities), {
    raisesGeneration: true,
    keepsMetadata: true,
    prepare: keepOnlyAmounts,
    validate: validateResize,
  });
  return { type: 'strategy', name: 'resize', verbs: ['get', 'patch', 'update'], strategy };
}

/** A different number of containers is left in place, so that it is refused. */
function keepOnlyAmounts(next: Pod, old: ReadonlyPod): void {
  const wanted: Partial<PodSpec> = next.spec ?? {};
  if (lists.some((list) => (wanted[list]?.length ?? 0) !== (old.spec?.[list]?.length ?? 0))) return;
  restorePod(next, old);
  const spec = next.spec;
  if (spec === undefined) return;
  if (wanted.resources === undefined) delete spec.resources;
  else spec.resources = wanted.resources;
  for (const list of lists) takeAmounts(spec, list, wanted[list] ?? []);
}

/** Different names or another order are not corrected, so that they are refused. */
function takeAmounts(spec: PodSpec, list: (typeof lists)[number], wanted: Container[]): void {
  const containers = spec[list] ?? [];
  if (containers.some(({ name }, index) => wanted[index]?.name !== name)) {
    spec[list] = wanted;
    return;
  }
  for (const [index, container] of containers.entries()) {
    for (const field of ['resources', 'resizePolicy'] as const) {
      const value = wanted[index]?.[field];
      if (value === undefined) delete container[field];
      else Object.assign(container, { [field]: value });
    }
  }
}

function validateResize(root: Field, next: ReadonlyPod, old: ReadonlyPod): void {
  if (isMirror(old)) return root.child('[]').forbidden('static pods cannot be resized');
  if (old.spec?.os?.name === 'windows') return root.child('[]').forbidden('windows pods cannot be resized');
  const at = root.child('spec');
  const before = at.errorCount;
  const [spec, oldSpec] = [next.spec ?? emptySpec, old.spec ?? emptySpec];
  validatePod(root, next);
  validateResizeConditions(at, next, old);
  const ofPod = validatePodAmounts(at, spec, oldSpec);
  if (!validateOrder(at, spec, oldSpec)) return;
  const masked = { ...spec, ...maskedContainers(at, spec, oldSpec), resources: ofPod };
  if (at.errorCount === before && !jsonEqual(withoutAbsent(masked), oldSpec)) at.forbidden(onlyAmounts);
}

const onlyAmounts = 'only cpu and memory resources are mutable';

function validateResizeConditions(at: Field, next: ReadonlyPod, { spec, status }: ReadonlyPod): void {
  const qosClass = status?.qosClass ?? qosClassOf(spec);
  if (qosClassOf(next.spec) !== qosClass) at.invalid(qosClass, 'Pod QOS Class may not change as a result of resizing');
  const running = status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined)
    at.forbidden('Pod running on node without support for resize');
  if ((status?.nodeAllocatableResourceClaimStatuses?.length ?? 0) > 0)
    at.forbidden('pods with node allocatable resource claims cannot be resized');
}

/** Returns the pod's amounts with the old values of CPU and memory. */
function validatePodAmounts(at: Field, next: ReadonlySpec, old: ReadonlySpec): Resources | undefined {
  if (!hasAmounts(next.resources) && !hasAmounts(old.resources)) return next.resources;
  const place = at.child('resources');
  if (old.resources !== undefined && next.resources === undefined) {
    place.forbidden('pod-level resources cannot be removed');
    return undefined;
  }
  for (const list of ['requests', 'limits'] as const)
    if (isRemoved(next.resources?.[list], old.resources?.[list]))
      place.child(list).forbidden(`pod-level resource ${list} cannot be removed`);
  const masked = { ...next.resources, ...maskedAmounts(next.resources, old.resources) };
  const result = old.resources === undefined && Object.keys(withoutAbsent(masked)).length === 0 ? undefined : masked;
  if (!jsonEqual(result && withoutAbsent(result), old.resources)) at.forbidden(`${onlyAmounts} at pod-level`);
  return result && withoutAbsent(result);
}

const hasAmounts = (resources: Resources | undefined): boolean =>
  Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0;

function isRemoved(next: object | undefined, old: object | undefined): boolean {
  return Object.keys(old ?? {}).some((name) => !Object.hasOwn(next ?? {}, name));
}

function validateOrder(at: Field, next: ReadonlySpec, old: ReadonlySpec): boolean {
  const before = at.errorCount;
  for (const list of ['containers', 'initContainers'] as const) {
    const [wanted, present]: Containers[] = [next[list] ?? [], old[list] ?? []];
    if (wanted?.length !== present?.length) at.child(list).forbidden(`${list} may not be added or removed on resize`);
    else
      at.child(list).each(present, ({ name }, place, index) => {
        if (wanted?.[index]?.name !== name)
          place.child('name').forbidden(`${list} may not be renamed or reordered on resize`);
      });
  }
  return at.errorCount === before;
}

/** Returns the containers with their old CPU and memory; remaining differences are forbidden. */
function maskedContainers(
  at: Field,
  next: ReadonlySpec,
  old: ReadonlySpec,
): Pick<ReadonlySpec, (typeof lists)[number]> {
  const masked = (list: (typeof lists)[number]): Containers =>
    (next[list] ?? []).map((container, index) => {
      const before = old[list]?.[index] ?? container;
      const place = at.child(list).index(index);
      for (const part of ['requests', 'limits'] as const)
        if (isRemoved(container.resources?.[part], before.resources?.[part]))
          place.child('resources', part).forbidden(`resource ${part} cannot be removed`);
      const result = { ...container, resources: withoutAbsent(maskedAmounts(container.resources, before.resources)) };
      const isSame = jsonEqual(result, before);
      if (list === 'containers' && !isSame) at.forbidden(onlyAmounts);
      if (list === 'initContainers')
        validateInit(place, container, { isSame, isChanged: !jsonEqual(container, before) });
      return result;
    });
  const initContainers = masked('initContainers');
  const containers = masked('containers');
  return { containers, ...(initContainers.length === 0 ? {} : { initContainers }) };
}

function validateInit(
  at: Field,
  { restartPolicy, resizePolicy }: DeepReadonly<Container>,
  { isSame, isChanged }: { readonly isSame: boolean; readonly isChanged: boolean },
): void {
  if (!isSame) at.forbidden('only cpu and memory resources for init or sidecar containers are mutable');
  if (!isChanged || restartPolicy === 'Always') return;
  for (const policy of resizePolicy ?? [])
    if (policy.restartPolicy === 'RestartContainer')
      at.forbidden('non-sidecar init containers with a resize policy of RestartContainer cannot be resized');
}

/** Returns amounts without CPU and memory, and without claims. Source: dropCPUMemoryResourcesFromContainer. */
function maskedAmounts(next: Resources | undefined, old: Resources | undefined): Resources {
  const mask = (list: 'limits' | 'requests'): Resources['limits'] => {
    const { cpu: _cpu, memory: _memory, ...others } = { ...next?.[list] };
    const { cpu, memory } = { ...old?.[list] };
    const all = deepCopy({
      ...others,
      ...(cpu === undefined ? {} : { cpu }),
      ...(memory === undefined ? {} : { memory }),
    });
    return Object.keys(all).length === 0 ? undefined : all;
  };
  return { limits: mask('limits'), requests: mask('requests') } as Resources;
}

function withoutAbsent<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

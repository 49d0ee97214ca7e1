// volumeattributesclass-protection-controller keeps a volume attributes class until no claim or volume names it.
// Source: pkg/controller/volume/vacprotection.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { isDeletedFinalStateUnknown, type ResourceEventHandler } from '@kapstan/informers';
import { PersistentVolume, PersistentVolumeClaim } from '@kapstan/kinds/core/v1';
import { VolumeAttributesClass } from '@kapstan/kinds/storage.k8s.io/v1';
import type { ControlLoop } from './control-loop.ts';
import { protect } from './protected-objects.ts';

const byClass = 'objectsByVolumeAttributesClass';

export const volumeAttributesClassProtectionController: ControlLoop = protect({
  resource: VolumeAttributesClass,
  finalizer: 'kubernetes.io/vac-protection',
  queueName: 'vacprotection',
  followUsers: ({ informers }, add) => [
    informers
      .informer(PersistentVolumeClaim, { indexers: { [byClass]: classesOfClaim } })
      .addEventHandler(handlerOf(classesOfClaim, add)),
    informers
      .informer(PersistentVolume, { indexers: { [byClass]: classesOfVolume } })
      .addEventHandler(handlerOf(classesOfVolume, add)),
  ],
  isUsed: ({ informers }, { metadata }) => {
    const name = metadata?.name ?? '';
    return [PersistentVolumeClaim, PersistentVolume].some(
      (token) => informers.informer<KubernetesObject>(token).indexer.byIndex(byClass, name).length > 0,
    );
  },
});

function handlerOf<T extends KubernetesObject>(
  classesOf: (object: DeepReadonly<T>) => string[],
  add: (key: string) => void,
): ResourceEventHandler<T> {
  return {
    onUpdate: (old, next) => {
      const kept = new Set(classesOf(next));
      for (const name of classesOf(old)) if (!kept.has(name)) add(name);
    },
    onDelete: (last) => {
      const object = isDeletedFinalStateUnknown(last) ? last.object : last;
      if (object !== undefined) classesOf(object as DeepReadonly<T>).forEach(add);
    },
  };
}

function classesOfClaim({ spec, status }: DeepReadonly<PersistentVolumeClaim>): string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];
}

function classesOfVolume({ spec }: DeepReadonly<PersistentVolume>): string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}

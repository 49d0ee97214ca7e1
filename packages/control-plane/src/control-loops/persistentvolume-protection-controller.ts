// persistentvolume-protection-controller keeps a volume until no claim is bound to it. Source: pkg/controller/volume/pvprotection.
import { PersistentVolume } from '@kapstan/kinds/core/v1';
import type { ControlLoop } from './control-loop.ts';
import { protect } from './protected-objects.ts';

export const persistentVolumeProtectionController: ControlLoop = protect({
  resource: PersistentVolume,
  finalizer: 'kubernetes.io/pv-protection',
  queueName: 'pvprotection',
  // No users need to be followed, because the volume's own phase shows whether it is bound.
  followUsers: () => [],
  isUsed: (_context, { status }) => status?.phase === 'Bound',
});

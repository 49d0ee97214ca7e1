// Volume attachments. Source: pkg/apis/storage/validation ValidateVolumeAttachment.
import { dnsSubdomainErrors } from '@kapstan/api';
import type { VolumeAttachment } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';

export const volumeAttachments: BuiltinKind<VolumeAttachment> = {
  id: 'storage.k8s.io/v1/volumeattachments',
  strategy: { updateMetadata: 'whole' },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    if (spec.attacher === '') at.child('attacher').required();
    const { inlineVolumeSpec, persistentVolumeName } = spec.source;
    if (inlineVolumeSpec === undefined && !persistentVolumeName) {
      at.child('source').required('must specify exactly one of inlineVolumeSpec and persistentVolumeName');
    } else if (inlineVolumeSpec !== undefined && persistentVolumeName) {
      at.child('source').forbidden('must specify exactly one of inlineVolumeSpec and persistentVolumeName');
    }
    at.child('nodeName').invalidAll(spec.nodeName, dnsSubdomainErrors(spec.nodeName));
  },
  validateChange: (root, next, old) => {
    if (!jsonEqual(next.spec, old.spec)) root.child('spec').invalid(next.spec, 'field is immutable');
  },
};

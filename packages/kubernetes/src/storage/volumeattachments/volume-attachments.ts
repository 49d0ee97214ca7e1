// Volume attachments. Source: pkg/apis/storage/validation ValidateVolumeAttachment.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setSourceDefaults } from '../../core/pods/volume-defaults.ts';
import { validateDriverName } from '../../validation/driver-name.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { validateInlineVolume } from './inline-volume.ts';

const maxMetadataBytes = 256 * 1024;
const maxMessageBytes = 1024;

export const volumeAttachments: BuiltinKind<VolumeAttachment> = {
  id: 'storage.k8s.io/v1/volumeattachments',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    const inline = spec?.source?.inlineVolumeSpec;
    if (inline) setSourceDefaults(inline);
  },
  validate: (root, object, old) => {
    validateAttachment(root, object);
    if (old !== undefined)
      root
        .child('spec')
        .immutable(internalForm('storage.VolumeAttachmentSpec', object.spec), jsonEqual(object.spec, old.spec));
  },
  status: { updateMetadata: 'whole', keepsMetadata: true, validate: validateAttachment },
};

function validateAttachment(root: Field, { spec, status }: DeepReadonly<VolumeAttachment>): void {
  const at = root.child('spec');
  validateDriverName(at.child('attacher'), spec.attacher);
  validateSource(at.child('source'), spec.source);
  at.child('nodeName').invalidAll(spec.nodeName, dnsSubdomainErrors(spec.nodeName));
  validateMetadata(root.child('status', 'attachmentMetadata'), status?.attachmentMetadata);
  validateError(root.child('status', 'attachError'), status?.attachError);
  validateError(root.child('status', 'detachError'), status?.detachError);
  const name = spec.source.persistentVolumeName;
  if (name !== undefined) at.child('source', 'persistentVolumeName').invalidAll(name, dnsSubdomainErrors(name));
}

function validateSource(at: Field, source: DeepReadonly<VolumeAttachmentSource>): void {
  const { inlineVolumeSpec, persistentVolumeName } = source;
  const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (inlineVolumeSpec === undefined) {
    if (persistentVolumeName === undefined) at.required(exactlyOne);
    else if (persistentVolumeName === '')
      at.child('persistentVolumeName').required('must specify non empty persistentVolumeName');
  } else if (persistentVolumeName !== undefined) at.forbidden(exactlyOne);
  else validateInlineVolume(at.child('inlineVolumeSpec'), inlineVolumeSpec);
}

function validateMetadata(at: Field, metadata: Readonly<Record<string, string>> | undefined): void {
  const bytes = Object.entries(metadata ?? {}).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (bytes > maxMetadataBytes) at.tooLong(maxMetadataBytes);
}

/** For a message that is too long, Kubernetes reports the limit of the metadata by mistake. */
function validateError(at: Field, error: DeepReadonly<VolumeError> | undefined): void {
  if (Buffer.byteLength(error?.message ?? '') > maxMessageBytes) at.child('message').tooLong(maxMetadataBytes);
  const code = error?.errorCode;
  if (code !== undefined && code < 0)
    at.child('errorCode').invalid(code, 'must be between 0 and 2147483647, inclusive');
}

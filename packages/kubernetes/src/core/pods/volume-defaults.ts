// Defaults of volumes and of persistent volumes' sources. Source: pkg/apis/core/v1/defaults.go.
import type { DownwardAPIVolumeFile, PersistentVolumeSpec, Volume } from '@kapstan/kinds/core/v1';
import { isLatest } from './image-name.ts';

const fileMode = 0o644;
const tokenSeconds = 3600;

/** Sets defaults of volumes. A volume without a source is an emptyDir. */
export function setVolumeDefaults(volume: Volume): void {
  const isNamed = Object.entries(volume).every(
    ([key, value]) => key === 'name' || value === undefined || value === null,
  );
  if (isNamed) volume.emptyDir = {};
  if (volume.secret) volume.secret.defaultMode ??= fileMode;
  if (volume.configMap) volume.configMap.defaultMode ??= fileMode;
  if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= fileMode;
    setFileDefaults(volume.downwardAPI.items);
  }
  setProjectedDefaults(volume);
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim) claim.spec.volumeMode ??= 'Filesystem';
  if (volume.image) volume.image.pullPolicy ||= isLatest(volume.image.reference ?? '') ? 'Always' : 'IfNotPresent';
  setSourceDefaults(volume);
}

function setProjectedDefaults(volume: Volume): void {
  if (!volume.projected) return;
  volume.projected.defaultMode ??= fileMode;
  for (const source of volume.projected.sources ?? []) {
    // The feature gates ClusterTrustBundleProjection and PodCertificateRequest are off.
    delete source.clusterTrustBundle;
    delete source.podCertificate;
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= tokenSeconds;
    setFileDefaults(source.downwardAPI?.items);
  }
}

function setFileDefaults(items: DownwardAPIVolumeFile[] | undefined): void {
  for (const item of items ?? []) if (item.fieldRef) item.fieldRef.apiVersion ||= 'v1';
}

/** Sets defaults of sources that volumes and persistent volumes share. */
export function setSourceDefaults(source: Volume | PersistentVolumeSpec): void {
  if (source.hostPath) source.hostPath.type ??= '';
  if (source.iscsi) source.iscsi.iscsiInterface ||= 'default';
  if (source.rbd) {
    source.rbd.pool ||= 'rbd';
    source.rbd.user ||= 'admin';
    source.rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (source.azureDisk) {
    source.azureDisk.cachingMode ??= 'ReadWrite';
    source.azureDisk.kind ??= 'Shared';
    source.azureDisk.fsType ??= 'ext4';
    source.azureDisk.readOnly ??= false;
  }
  if (source.scaleIO) {
    source.scaleIO.storageMode ||= 'ThinProvisioned';
    source.scaleIO.fsType ||= 'xfs';
  }
}

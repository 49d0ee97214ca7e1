// Writes packages/kinds/facts/firstobjects.json: the objects with which a new store begins, as the server creates them through all of
// its checks, with empty texts for uids and times. A function of admission, which changes nothing, keeps the server from using the prepared ones. Needs a
// build. src/first-objects/first-object-creator.test.ts fails when the file has to be written anew.
//   node packages/control-plane/scripts/write-first-objects.mjs
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { admit } from '@kapstan/apiserver';
import { startControlPlane } from '@kapstan/control-plane';
import { Namespace } from '@kapstan/kinds/core/v1';
import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';

const kinds = [
  Namespace,
  PriorityClass,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  PriorityLevelConfiguration,
  FlowSchema,
];

/** The empty texts keep the places of these members among the others. */
function prepared(object) {
  const { metadata, status } = object;
  delete metadata.resourceVersion;
  Object.assign(metadata, { uid: '', creationTimestamp: '' });
  for (const entry of metadata.managedFields) entry.time = '';
  for (const condition of status?.conditions ?? []) condition.lastTransitionTime = '';
  return object;
}

const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-first-objects-'));
const plane = await startControlPlane({ dataDir, admission: [admit('*', { validate: () => undefined })] });
try {
  const objects = {};
  for (const kind of kinds) objects[kind.kind] = (await plane.client.listPage(kind)).items.map(prepared);
  writeFileSync(new URL('../../kinds/facts/firstobjects.json', import.meta.url), `${JSON.stringify(objects)}\n`);
} finally {
  await plane.close();
  rmSync(dataDir, { recursive: true });
}

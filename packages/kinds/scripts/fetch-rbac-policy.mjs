// Writes facts/rbacpolicy.json: the roles and bindings that a kube-apiserver makes for itself, as read from a running one. Run it by hand
// for a new release: node packages/kinds/scripts/fetch-rbac-policy.mjs --server URL --token TOKEN [--insecure] The server should run
// without controllers; rules that controllers gather (aggregationRule) are left out anyway.
import { writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    token: { type: 'string' },
    insecure: { type: 'boolean', default: false },
  },
});
if (values.server === undefined || values.token === undefined) throw new TypeError('--server and --token are needed');

function fetchJson(path) {
  const options = { headers: { authorization: `Bearer ${values.token}` }, rejectUnauthorized: !values.insecure };
  return new Promise((resolve, reject) => {
    get(new URL(path, values.server), options, (response) => {
      const pieces = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${path}: ${response.statusCode} ${text}`));
      });
    }).on('error', reject);
  });
}

const group = 'rbac.authorization.k8s.io';

async function bootstrapObjects(resource, kind) {
  const { items } = await fetchJson(`/apis/${group}/v1/${resource}`);
  return items
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/bootstrapping'] === 'rbac-defaults')
    .map(({ metadata, rules, aggregationRule, roleRef, subjects }) => {
      const { name, namespace, labels, annotations } = metadata;
      const ownRules = aggregationRule === undefined ? rules : undefined;
      const head = { apiVersion: `${group}/v1`, kind, metadata: { name, namespace, labels, annotations } };
      return { ...head, aggregationRule, rules: ownRules, roleRef, subjects };
    });
}

const { gitVersion } = await fetchJson('/version');
const members = {
  clusterRoles: await bootstrapObjects('clusterroles', 'ClusterRole'),
  clusterRoleBindings: await bootstrapObjects('clusterrolebindings', 'ClusterRoleBinding'),
  roles: await bootstrapObjects('roles', 'Role'),
  roleBindings: await bootstrapObjects('rolebindings', 'RoleBinding'),
};
const lists = Object.entries(members).map(
  ([name, objects]) => `${JSON.stringify(name)}:[\n${objects.map((object) => JSON.stringify(object)).join(',\n')}\n]`,
);
const text = `{"release":${JSON.stringify(gitVersion.replace(/^v/, ''))},\n${lists.join(',\n')}}\n`;
writeFileSync(new URL('../facts/rbacpolicy.json', import.meta.url), text);

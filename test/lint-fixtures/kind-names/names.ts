export const resource = 'pods';
export const id = 'apps/v1/deployments';
export const group = 'rbac.authorization.k8s.io';
export const kind = 'Secret';
export const text = 'each ConfigMap and every batch of events';
export const groupVersion = { group: 'apps', mode: 'batch' };

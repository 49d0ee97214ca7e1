export const name = 'storage-etcd';

export const name = 'storage-lmdb';

import '../../storage-lmdb/src/index.ts';

// lmdb, opened without waiting for the disk. See no-sync-hook.mjs.
import * as lmdb from 'lmdb';

export const open = (path, options) => lmdb.open(path, { ...options, noSync: true, noMetaSync: true });

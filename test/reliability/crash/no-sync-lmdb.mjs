// lmdb, opened so that it does not wait for the disk. See no-sync-hook.mjs.
import * as lmdb from 'lmdb';

export const open = (path, options) => lmdb.open(path, { ...options, noSync: true, noMetaSync: true });

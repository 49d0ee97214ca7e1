// Imported by crash-writer.mjs before the engine: LMDB is opened so that it does not wait for the disk, the one mistake
// that the crash images must find.
import { createRequire } from 'node:module';

const lmdb = createRequire(import.meta.url)('lmdb');
const { open } = lmdb;
lmdb.open = (path, options) => open(path, { ...options, noSync: true, noMetaSync: true });

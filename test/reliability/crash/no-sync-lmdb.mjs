// Imported by crash-writer.mjs before the engine. It opens LMDB so that it does not wait for the disk, which is the
// mistake that the crash images must detect.
import { createRequire } from 'node:module';

const lmdb = createRequire(import.meta.url)('lmdb');
const { open } = lmdb;
lmdb.open = (path, options) => open(path, { ...options, noSync: true, noMetaSync: true });

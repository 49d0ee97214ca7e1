export { Cacher, type CacherInspection, type CacherOptions } from './cacher.ts';

export const name = 'cacher';

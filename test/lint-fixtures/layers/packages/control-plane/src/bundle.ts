export const bundle = 'bundle';

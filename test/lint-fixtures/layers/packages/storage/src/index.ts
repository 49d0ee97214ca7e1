export const name = 'storage';

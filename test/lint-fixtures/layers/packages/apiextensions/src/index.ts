export const name = 'apiextensions';

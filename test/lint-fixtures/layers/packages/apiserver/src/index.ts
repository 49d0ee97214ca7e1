export const name = 'apiserver';

export const name = 'testing';

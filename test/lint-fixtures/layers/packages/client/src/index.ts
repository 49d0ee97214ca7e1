export const name = 'client';

export const name = 'kubernetes';

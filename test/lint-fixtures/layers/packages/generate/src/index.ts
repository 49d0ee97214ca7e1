export const name = 'generate';

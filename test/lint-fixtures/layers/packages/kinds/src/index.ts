export const name = 'kinds';

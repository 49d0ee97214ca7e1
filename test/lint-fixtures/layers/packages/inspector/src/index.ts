export const name = 'inspector';

export const name = 'api';

export const name = 'create-kapstan';

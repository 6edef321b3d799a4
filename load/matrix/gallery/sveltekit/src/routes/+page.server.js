export const load = ({ url }) => ({ name: url.searchParams.get('name') ?? 'nobody' });

export default 'steps';
